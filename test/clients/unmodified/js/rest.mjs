// What programs prepare and look at besides the client that they call.
import { tokens, url } from './calls.mjs'

/**
 * Makes a request over REST as bob.
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
export async function rest(method, path, body) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `token ${tokens.bob}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/**
 * Creates a repository of bob with a first commit.
 * @param {string} name
 */
export async function createRepository(name) {
  await rest('POST', '/user/repos', { name, auto_init: true, default_branch: 'main' })
}

/**
 * Adds a file to the default branch of a repository of bob.
 * @param {string} repo
 * @param {string} path
 * @param {string} text
 * @param {string} [message]
 */
export async function commitFile(repo, path, text, message = `feat: ${path}`) {
  const content = Buffer.from(text).toString('base64')
  await rest('POST', `/repos/bob/${repo}/contents/${path}`, { content, message })
}
