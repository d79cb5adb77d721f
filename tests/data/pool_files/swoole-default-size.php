<?php

declare(strict_types=1);

namespace Core\lib\db\pool;

use Core\lib\db\Pool;
use PDO;
use Swoole\Database\PDOConfig;
use Swoole\Database\PDOPool;

class Mysql
{
    public function create()
    {
        $config = (new PDOConfig)->withHost('db.example.org')
            ->withPort(60977)
            ->withDbname('art')
            ->withCharset('utf8mb4')
            ->withUsername('app')
            ->withPassword('hush')
            ->withOptions([
                PDO::ATTR_STRINGIFY_FETCHES => false,
                PDO::ATTR_EMULATE_PREPARES => false
            ]);
        return new PDOPool($config);
    }
}
