"""What any backend outside TileLang's tree needs. This one is built on it, and so is what `new-backend` writes."""
