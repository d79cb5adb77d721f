import knex from "knex";
import {get, has} from "./settings.js";

let instance = null;

const options = () => {
	if (!has("database")) {
		throw new Error("no database");
	}
	const database = get("database");
	if (database.engine === "native") {
		return database.knex;
	}
	return {
		client: database.engine,
		connection: {
			host: database.host,
			user: database.user,
			database: database.name,
			...(database.ssl ? { ssl: database.ssl } : {})
		},
		migrations: {
			tableName: "migrations",
		},
	};
};

const one = () => {
	if (!instance) {
		instance = knex(options());
	}
	return instance;
}

export default one;
