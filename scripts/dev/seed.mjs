import { requester } from '../clients/rest.mjs'
import { createAccounts, PASSWORD } from '../clients/server.mjs'
import { Failure } from '../setup/progress.mjs'
import { seedGarden } from './seed-garden.mjs'

/** The people of the seed. The first one administers the server. */
export const PEOPLE = ['ada', 'bob', 'carol'].map((username) => ({
  username,
  email: `${username}@example.org`,
}))

/**
 * Fills a new server through its public API: people, the organisation acme, and repositories with
 * history and pull requests in each state.
 * @param {string} url
 */
export async function seed(url) {
  const tokens = await createAccounts(url, PEOPLE, 'seed')
  const as = (/** @type {string} */ username) => requester(url, tokens[username] ?? '')
  await seedGarden({ ada: as('ada'), bob: as('bob'), carol: as('carol') })
}

/**
 * Fills a server once. Throws a `Failure` if it has other data, or a seed that was interrupted.
 * @param {string} url
 * @returns {Promise<string>} the result in a few words
 */
export async function seedOnce(url) {
  const has = async (/** @type {string} */ path) => (await fetch(`${url}/api/v1${path}`)).ok
  if (await has('/repos/carol/garden')) return 'in place'
  if (await has('/users/ada'))
    throw new Failure(
      'The instance has accounts, but not all that this command makes: remove its data folder, usually data-dev, and start again.',
    )
  await seed(url)
  return 'made'
}

/**
 * Returns what a person needs to look around.
 * @param {string} url
 */
export function signIns(url) {
  const names = PEOPLE.map(({ username }, i) =>
    i === 0 ? `${username} (administrator)` : username,
  )
  return [
    `  ${url}`,
    `  sign in as ${names.join(', ')}; password: ${PASSWORD}`,
    `  ${url}/acme/garden/pulls has pull requests in each state`,
    '',
  ].join('\n')
}
