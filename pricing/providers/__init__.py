"""The providers' own feeds, each an asynchronous source of offers."""
