import click


@click.command()
def plot() -> None:
    """x"""
