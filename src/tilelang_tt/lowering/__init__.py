"""One way to lower a kernel for every target of TileLang, ours among them; and whether they compute the same."""
