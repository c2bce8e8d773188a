/** @typedef {ReturnType<typeof import('../clients/rest.mjs').requester>} Requester */
/** @typedef {{ ada: Requester, bob: Requester, carol: Requester }} People */

const GARDEN = '/repos/acme/garden'

const DAY_MS = 86_400_000

const README = `# Garden

Waters the beds when the soil is dry.

| Part | State |
| --- | --- |
| pump | works |
| sensor | works, **slowly** |

- [x] tomatoes
- [ ] beans
`

const PUMP = `export function water(bed) {
  while (bed.moisture() < bed.wanted) bed.open()
  bed.close()
}
`

/** The history of main: days ago, message, and files. */
const HISTORY = /** @type {const} */ ([
  [30, 'Describe the garden', { 'README.md': README }],
  [24, 'Add the pump', { 'src/pump.js': PUMP, 'src/beds.json': '["tomatoes"]\n' }],
  [17, 'Measure every minute', { 'src/sensor.js': 'export const EVERY_MS = 60_000\n' }],
  [9, 'Plan the spring', { 'docs/spring.md': '# Spring\n\nSow beans in April.\n' }],
])

/** The other end of a branch: its name, the path, and the content that the path gets there. */
const BRANCHES = /** @type {const} */ ([
  ['slow-pump', 'src/pump.js', PUMP.replace('bed.open()', 'bed.open({ slowly: true })')],
  ['drafts-of-summer', 'docs/summer.md', '# Summer\n'],
  ['more-beds', 'src/beds.json', '["tomatoes", "beans"]\n'],
  ['other-beds', 'src/beds.json', '["roses"]\n'],
  ['sprinkler', 'src/sprinkler.js', 'export const RANGE_M = 4\n'],
  ['every-second', 'src/sensor.js', 'export const EVERY_MS = 1_000\n'],
  ['timetable', 'docs/timetable.md', '# Timetable\n\nWater at six.\n'],
])

/**
 * Makes the organisation acme with its garden, and a repository of each person.
 * @param {People} people
 */
export async function seedGarden(people) {
  const { ada, bob, carol } = people
  await ada('POST', '/orgs', { username: 'acme', full_name: 'Acme Gardens' })
  await ada('POST', '/orgs/acme/repos', { name: 'garden', description: 'Waters the beds' })
  for (const username of ['bob', 'carol'])
    await ada('PUT', `${GARDEN}/collaborators/${username}`, { permission: 'write' })
  await writeHistory(ada)
  await ada('PUT', `${GARDEN}/topics`, { topics: ['garden', 'water'] })
  const label = await ada('POST', `${GARDEN}/labels`, { name: 'pump', color: '#2f6f4f' })
  const milestone = await ada('POST', `${GARDEN}/milestones`, { title: 'Spring' })
  const planning = { labels: [label.id], milestone: milestone.id }
  await makePulls(people, planning)
  await makeIssues(people, planning)
  await ada('POST', `${GARDEN}/releases`, {
    tag_name: 'v1.0.0',
    target_commitish: 'main',
    name: 'First harvest',
    body: 'Tomatoes.',
  })
  await bob('POST', '/user/repos', { name: 'notes', private: true, auto_init: true })
  await carol('PUT', '/user/starred/acme/garden')
  // The last step, by which `seedOnce` knows that the seed is complete.
  await carol('POST', `${GARDEN}/forks`, {})
}

/** @param {Requester} ada */
async function writeHistory(ada) {
  for (const [days, message, files] of HISTORY) {
    const time = new Date(Date.now() - days * DAY_MS).toISOString()
    await ada('POST', `${GARDEN}/contents`, {
      message,
      branch: 'main',
      dates: { author: time, committer: time },
      files: Object.entries(files).map(([path, text]) => ({
        operation: 'create',
        path,
        content: base64(text),
      })),
    })
  }
}

/**
 * Makes a pull request in each state: open with a review, draft, in conflict, waiting for a check,
 * with changes requested, merged, closed.
 * @param {People} people
 * @param {{ labels: readonly number[], milestone: number }} planning
 */
async function makePulls({ ada, bob, carol }, planning) {
  for (const [branch, path, text] of BRANCHES) await writeBranch(bob, branch, path, text)
  const open = (/** @type {string} */ head, /** @type {string} */ title, more = {}) =>
    bob('POST', `${GARDEN}/pulls`, { head, base: 'main', title, ...more })
  const pull = (/** @type {{ number: number }} */ { number }) => `${GARDEN}/pulls/${number}`

  const merged = await open('more-beds', 'Plant beans')
  await ada('POST', `${pull(merged)}/reviews`, { event: 'APPROVED', body: 'Beans, at last.' })
  await ada('POST', `${pull(merged)}/merge`, { Do: 'merge' })

  const closed = await open('sprinkler', 'Add a sprinkler')
  await bob('PATCH', pull(closed), { state: 'closed' })

  await open('other-beds', 'Plant roses', { body: 'In conflict with the beans.' })
  await open('drafts-of-summer', 'WIP: Plan the summer')

  const rejected = await open('every-second', 'Measure every second')
  await carol('POST', `${pull(rejected)}/reviews`, {
    event: 'REQUEST_CHANGES',
    body: 'The battery lasts a day then.',
  })

  await ada('POST', `${GARDEN}/branch_protections`, {
    rule_name: 'main',
    enable_status_check: true,
    status_check_contexts: ['build'],
  })
  const waiting = await open('timetable', 'Write the timetable down')
  await status(ada, waiting, 'pending', 'building')
  await ada('POST', `${pull(waiting)}/merge`, { Do: 'squash', merge_when_checks_succeed: true })

  const ready = await open('slow-pump', 'Open the pump slowly', {
    body: 'The hose **jumps** when the pump opens at once. cc @carol',
    ...planning,
  })
  await carol('POST', `${pull(ready)}/reviews`, {
    event: 'COMMENT',
    body: 'Good idea. One question.',
    comments: [{ path: 'src/pump.js', body: 'How slowly?', new_position: 2 }],
  })
  await bob('POST', `${GARDEN}/issues/${ready.number}/comments`, { body: 'Three seconds, @carol.' })
  await status(ada, ready, 'success', 'built in 42 seconds')
}

/**
 * Makes issues: open with a conversation, assigned, closed, and one that waits for another.
 * @param {People} people
 * @param {{ labels: readonly number[], milestone: number }} planning
 */
async function makeIssues({ ada, bob, carol }, planning) {
  const open = (/** @type {Requester} */ by, /** @type {string} */ title, more = {}) =>
    by('POST', `${GARDEN}/issues`, { title, ...more })
  const leak = await open(carol, 'The hose leaks', {
    body: 'After a night of frost:\n\n```\npressure 0.4 bar, expected 2.0\n```\n\n@bob, is the pump to blame?',
    assignees: ['ada'],
    ...planning,
  })
  const comments = `${GARDEN}/issues/${leak.number}/comments`
  const answer = await bob('POST', comments, { body: 'The pump is fine. The valve is cracked.' })
  await carol('POST', `${GARDEN}/issues/comments/${answer.id}/reactions`, { content: '+1' })
  await ada('POST', comments, { body: 'A new valve comes on Friday, @carol.' })
  const harvest = await open(ada, 'Harvest the beans', { assignees: ['carol'] })
  const dependency = { owner: 'acme', repo: 'garden', index: leak.number }
  await ada('POST', `${GARDEN}/issues/${harvest.number}/dependencies`, dependency)
  const sown = await open(bob, 'Sow the beans')
  await bob('PATCH', `${GARDEN}/issues/${sown.number}`, { state: 'closed' })
}

/**
 * @param {Requester} as
 * @param {string} branch
 * @param {string} path
 * @param {string} text
 */
async function writeBranch(as, branch, path, text) {
  const file = { operation: 'upload', path, content: base64(text) }
  const message = `Change ${path} on ${branch}`
  await as('POST', `${GARDEN}/contents`, {
    message,
    branch: 'main',
    new_branch: branch,
    files: [file],
  })
}

/**
 * @param {Requester} as
 * @param {{ head: { sha: string } }} pull
 * @param {'pending' | 'success'} state
 * @param {string} description
 */
async function status(as, { head }, state, description) {
  await as('POST', `${GARDEN}/statuses/${head.sha}`, { state, context: 'build', description })
}

function base64(/** @type {string} */ text) {
  return Buffer.from(text).toString('base64')
}
