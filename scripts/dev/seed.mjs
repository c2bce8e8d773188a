import { existsSync, writeFileSync } from 'node:fs'
import { requester } from '../clients/rest.mjs'
import { createAccounts, PASSWORD } from '../clients/server.mjs'
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
 * Fills a server once. The mark is written last, so that a seed that was interrupted is made anew.
 * @param {string} url
 * @param {string} mark the path of a file
 */
export async function seedOnce(url, mark) {
  if (existsSync(mark)) return 'in place'
  await seed(url)
  writeFileSync(mark, '')
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
