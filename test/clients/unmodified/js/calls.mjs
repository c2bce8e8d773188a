import { isDeepStrictEqual } from 'node:util'

/** The server, and tokens with all scopes, by username. `npm run clients` sets the variable. */
export const { url, tokens, password } = JSON.parse(process.env.BRANCHLINE_CLIENT ?? '{}')

/**
 * Makes one call and prints what was expected and what happened as a line of JSON. A failed call does
 * not end the program.
 * @template T
 * @param {string} name unique in the program
 * @param {unknown} expected what `work` resolves to, as JSON
 * @param {() => Promise<T>} work
 */
export async function call(name, expected, work) {
  let happened
  try {
    const value = await work()
    happened = value === undefined ? null : JSON.parse(JSON.stringify(value))
  } catch (error) {
    happened = `fails: ${reasonOf(error)}`
  }
  const passed = isDeepStrictEqual(happened, expected)
  process.stdout.write(`${JSON.stringify({ name, expected, happened, passed })}\n`)
}

/** @param {any} error what a client throws: an error, or the response itself */
function reasonOf(error) {
  const status = error?.status ?? error?.response?.status
  const message = error?.error?.message ?? error?.message ?? String(error)
  return status === undefined ? message : `${status} ${message}`
}

/**
 * Returns the named members of an object.
 * @param {any} object
 * @param {...string} names
 */
export function pick(object, ...names) {
  return Object.fromEntries(names.map((name) => [name, object?.[name]]))
}
