"""The words of textbooks, and the quantities that they name. A problem extends the table with ``aliases``."""

from __future__ import annotations

from collections.abc import Mapping

# Compared without regard to case, and with runs of spaces as one.
VOCABULARY: Mapping[str, tuple[str, ...]] = {
    "flops": ("FLOPs", "FLOP", "OPs", "total FLOPs", "total OPs", "computation FLOPs", "number of FLOPs", "work"),
    "bytes": (
        "bytes",
        "total bytes",
        "communication bytes",
        "memory bytes",
        "bytes moved",
        "memory traffic",
        "traffic",
    ),
    "reads": ("reads", "bytes read", "bytes loaded", "loads"),
    "writes": ("writes", "bytes written", "bytes stored", "stores"),
    "intensity": (
        "intensity",
        "arithmetic intensity",
        "operational intensity",
        "AI",
        "intensity(computation)",
        "intensity(algorithm)",
        "intensity(matmul)",
        "intensity(dot product)",
        "intensity(operation)",
        "AI(computation)",
    ),
    "ridge": (
        "ridge",
        "ridge point",
        "ridge intensity",
        "machine balance",
        "critical intensity",
        "peak intensity",
        "intensity(accelerator)",
        "intensity(hardware)",
        "intensity(TPU)",
        "intensity(GPU)",
        "intensity(chip)",
        "AI(hardware)",
    ),
    "peak": (
        "peak",
        "peak FLOPs/s",
        "peak OPs/s",
        "peak FLOPS",
        "accelerator FLOPs/s",
        "accelerator OPs/s",
        "FLOPs/s",
        "OPs/s",
        "peak performance",
        "peak compute",
    ),
    "bandwidth": (
        "bandwidth",
        "bandwidth bytes/s",
        "memory bandwidth",
        "memory bandwidth bytes/s",
        "HBM bandwidth",
        "network bandwidth",
        "network bandwidth bytes/s",
        "network/memory bandwidth",
        "network/memory bandwidth bytes/s",
        "bytes/s",
    ),
    "T_math": ("T_math", "T_compute", "T_comp", "T_flops", "time for math", "compute time"),
    "T_comms": ("T_comms", "T_comm", "T_mem", "T_memory", "T_communication", "communication time", "memory time"),
    "T_lower": ("T_lower", "lower bound", "lower"),
    "T_upper": ("T_upper", "upper bound", "upper"),
    "throughput": ("throughput", "attainable FLOPs/s", "achieved FLOPs/s", "attainable performance"),
}


def folded(words: str) -> str:
    """The form in which words are compared.

    >>> folded(" Total  FLOPs")
    'total flops'
    """
    return " ".join(words.split()).casefold()


KNOWN: Mapping[str, str] = {folded(words): name for name, all_words in VOCABULARY.items() for words in all_words}


def named(words: str, aliases: Mapping[str, str]) -> str | None:
    """The quantity that words name, or None.

    >>> named("Arithmetic  Intensity", {}), named("Rechenaufwand", {"rechenaufwand": "flops"})
    ('intensity', 'flops')
    """
    key = folded(words)
    own = {folded(alias): name for alias, name in aliases.items()}
    return own.get(key) or KNOWN.get(key)
