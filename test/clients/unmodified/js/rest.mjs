// What programs prepare and look at besides the client that they call.
import { requester } from '../../../../scripts/clients/rest.mjs'
import { tokens, url } from './calls.mjs'

/** Makes a request over REST as bob. */
export const rest = requester(url, tokens?.bob)

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
