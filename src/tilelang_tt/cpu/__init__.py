"""A tile kernel on the host's processor, through TileLang's own CPU backend: for people without any accelerator."""
