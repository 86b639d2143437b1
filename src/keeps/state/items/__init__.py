"""Items: JSON values under a namespace and a key, as frameworks with a store of their own keep them."""
