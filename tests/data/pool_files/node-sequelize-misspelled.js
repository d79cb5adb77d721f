module.exports = {
  HOST: "db",
  USER: "sample",
  DB: "sample",
  dialect: "mysql",

  pool: {
    max: 5,
    min: 0,
    accquire: 30000,
    idle: 10000,
  },
};
