module.exports = {
    development: {
      username: 'sample',
      database: 'sample',
      host: 'localhost',
      dialect: 'mysql',
      pool: {
        idle: 10000,
        min: 20,
        max: 30,
      },
    }
  }
