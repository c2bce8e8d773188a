// Plain JavaScript, because the set-up scripts import this file before anything is bundled.

/** The version of Node-API that better-sqlite3 13 requires. */
const NODE_API = 10

/**
 * Whether this version of Node loads better-sqlite3 13, installed as `better-sqlite3-napi`, which
 * contains its addon for all versions of Node. Other versions load better-sqlite3 12, whose addon
 * is compiled. Version 13 crashes on Node 20. Version 12 crashes on Node 24, whose headers register
 * a cleanup hook that its statements remove when the environment is gone.
 */
export const usesNodeApi = Number(process.versions.napi) >= NODE_API
