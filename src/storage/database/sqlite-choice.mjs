// Plain JavaScript, because the set-up scripts read it before anything is bundled.

/** The version of Node-API for which better-sqlite3 13 is built. */
const NODE_API = 10

/**
 * Whether this Node loads better-sqlite3 13, installed as `better-sqlite3-napi`, which brings its
 * addon for every version of Node. Another Node loads better-sqlite3 12, whose addon is compiled:
 * version 13 crashes on Node 20, and version 12 crashes on Node 24, whose headers register a
 * cleanup hook that its statements remove when the environment is gone.
 */
export const usesNodeApi = Number(process.versions.napi) >= NODE_API
