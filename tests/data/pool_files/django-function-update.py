import environ

env = environ.Env()


def sample_db(environ_var, atomic_requests=True):
    values = env.db(var=environ_var, default='mysql://sample:@localhost/sample_fifteen')

    values.update(
        {
            # one transaction a view
            'ATOMIC_REQUESTS': atomic_requests,
            # keep a connection for 300 seconds
            'CONN_MAX_AGE': 300,
            'ENGINE': 'sample.db.mysql',
            'OPTIONS': {
                'charset': 'utf8mb4',
                'isolation_level': 'read committed',
            },
        }
    )

    return values


DATABASES = {
    'default': sample_db('SAMPLE_DEFAULT_URL'),
}

# not a Django connection, but the same values
SAMPLE_SERVICES = sample_db('SAMPLE_DEFAULT_URL')
