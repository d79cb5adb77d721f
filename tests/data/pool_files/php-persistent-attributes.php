<?php

return [
    'connections' => [
        'mysql' => [
            'driver' => 'mysql',
            'host' => env('SAMPLE_SERVER', 'localhost'),
            'attributes' => [
                PDO::ATTR_EMULATE_PREPARES => false,
                PDO::ATTR_PERSISTENT => true,
                PDO::ATTR_AUTOCOMMIT => true
            ]
        ]
    ]
];
