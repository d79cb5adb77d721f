<?php

return [
    'default' => 'mysql',
    'connections' => [
        'mysql' => [
            'type' => getenv('SAMPLE_TYPE') ?? 'mysql',
            'hostname' => getenv('SAMPLE_SERVER'),
            'params' => [
                \PDO::ATTR_TIMEOUT => 3,
            ],
            'pool' => [
                'max_connections' => 5,
                'min_connections' => 1,
                'wait_timeout' => 3,
                'idle_timeout' => 60,
            ],
        ],
    ],
];
