"""Pages: a derivation, a map, a comparison, a report or a catalogue as prose, displays and tables."""
