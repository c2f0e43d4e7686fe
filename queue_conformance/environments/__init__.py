"""What the libraries give the parts of a crawl: the reactor, a crawler with its engine, a site on the loopback address."""
