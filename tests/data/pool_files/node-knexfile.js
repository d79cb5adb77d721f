module.exports = {
  client: "mysql2",
  connection: {
    database: "sample",
    user: "sample",
  },
  pool: {
    min: 2,
    max: 10,
  },
  migrations: {
    tableName: "sample_migrations",
  },
};
