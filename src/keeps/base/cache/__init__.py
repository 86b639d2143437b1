"""What several processes share and may lose: Redis or Valkey, where one is configured."""
