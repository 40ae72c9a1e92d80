"""From a derivation to text: printers, templates, export. Everything here reads a derivation and changes nothing."""
