"""Items: JSON values under a namespace and a key, for agent frameworks with a store interface."""
