// `npm run screenshots`: writes the pictures of the web pages into docs/screenshots. Needs Chromium.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { requester } from './clients/rest.mjs'
import { PASSWORD, startClientServer } from './clients/server.mjs'
import { root } from './setup/child-process.mjs'
import { explainFailure, printLine } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

const FOLDER = join(root, 'docs', 'screenshots')

const ACCOUNTS = ['ada', 'bob', 'carol'].map((username) => ({
  username,
  email: `${username}@example.org`,
}))

/** Pages by the name of their picture, and a text that the page shows when it is complete. */
const PAGES = /** @type {const} */ ([
  ['repo', '/bob/observatory', 'How to build it'],
  ['issue', '/bob/observatory/issues/2', 'A filter may help'],
  ['pull', '/bob/observatory/pulls/1', 'The lock sticks'],
  ['files', '/bob/observatory/pulls/1/files', 'Why twice?'],
])

/** The two looks of each picture. */
const LOOKS = /** @type {const} */ ([
  [1280, 'light'],
  [390, 'dark'],
])

/** Labels with their colours. */
const LABELS = /** @type {const} */ ([
  ['mechanics', '#2f6f4f'],
  ['camera', '#fde047'],
  ['bug', '#b3261e'],
])

const README = `# Observatory

Opens the dome, points the telescope, and takes pictures until sunrise.

## How to build it

\`\`\`sh
make && ./observatory --site garden
\`\`\`

| Part | State |
| --- | --- |
| dome | works |
| camera | works, **slowly** |

- [x] find the moon
- [ ] find the keys
`

const DOME = `export function open(dome) {
  for (let step = 0; step < dome.steps; step++) dome.turn(step)
  dome.lock()
}
`

const SLOW_DOME = `export async function open(dome) {
  for (let step = 0; step < dome.steps; step++) {
    dome.turn(step)
    await dome.rest(dome.restMs)
  }
  dome.lock()
  dome.lock()
}
`

await explainFailure(async () => {
  await setUp('test')
  const { chromium } = await import('playwright-core')
  await mkdir(FOLDER, { recursive: true })
  const server = await startClientServer(ACCOUNTS, { tokenName: 'laptop' })
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    await prepare(server)
    for (const look of LOOKS) await takePictures(browser, server.url, look)
  } finally {
    await browser.close()
    await server.stop()
  }
})

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} baseURL
 * @param {readonly [width: number, colorScheme: 'light' | 'dark']} look
 */
async function takePictures(browser, baseURL, [width, colorScheme]) {
  const viewport = { width, height: width > 500 ? 900 : 740 }
  const context = await browser.newContext({ baseURL, viewport, colorScheme, locale: 'en-GB' })
  const page = await context.newPage()
  await page.goto('/user/login')
  await page.getByLabel('Username').fill('bob')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Your repositories' }).waitFor()
  for (const [name, path, text] of PAGES) {
    await page.goto(path)
    await page.getByText(text).first().waitFor()
    await page.locator('.loading, [aria-busy=true]').first().waitFor({ state: 'detached' })
    const file = `${name}-${width}-${colorScheme}.png`
    await page.screenshot({ path: join(FOLDER, file) })
    printLine('ok', `docs/screenshots/${file}`)
  }
  await context.close()
}

/** @param {import('./clients/server.mjs').ClientServer} server */
async function prepare({ url, tokens }) {
  const as = (/** @type {string} */ username) => requester(url, tokens[username] ?? '')
  const [bob, carol] = [as('bob'), as('carol')]
  const path = '/repos/bob/observatory'
  const base64 = (/** @type {string} */ text) => Buffer.from(text).toString('base64')
  await bob('POST', '/user/repos', { name: 'observatory', description: 'Watches the sky' })
  await bob('POST', `${path}/contents`, {
    message: 'Open the dome',
    files: Object.entries({
      'README.md': README,
      'src/dome.js': DOME,
      'src/camera.js': 'export const EXPOSURE_MS = 500\n',
      Makefile: 'observatory:\n\tcc -o $@ main.c\n',
      'docs/site.md': '# The site\n\nA garden, far from street lamps.\n',
    }).map(([name, text]) => ({ operation: 'create', path: name, content: base64(text) })),
  })
  await bob('PUT', `${path}/topics`, { topics: ['astronomy', 'telescope'] })
  await bob('PUT', `${path}/collaborators/carol`, { permission: 'write' })
  await bob('POST', `${path}/branch_protections`, {
    rule_name: 'main',
    required_approvals: 1,
    enable_status_check: true,
    status_check_contexts: ['build'],
  })
  const labels = []
  for (const [name, color] of LABELS)
    labels.push((await bob('POST', `${path}/labels`, { name, color })).id)
  const { sha } = await carol('GET', `${path}/contents/src/dome.js`)
  const { commit } = await carol('PUT', `${path}/contents/src/dome.js`, {
    message: 'Open the dome slowly',
    content: base64(SLOW_DOME),
    sha,
    new_branch: 'slow-dome',
  })
  await carol('POST', `${path}/pulls`, {
    title: 'Open the dome slowly',
    body: 'The motor gets **hot** when the dome opens at once.',
    head: 'slow-dome',
    base: 'main',
    labels: labels.slice(0, 1),
  })
  await bob('POST', `${path}/pulls/1/reviews`, {
    event: 'COMMENT',
    body: 'Good idea. One question.',
    comments: [{ path: 'src/dome.js', body: 'Why twice?', new_position: 7 }],
  })
  await carol('POST', `${path}/issues/1/comments`, { body: 'The lock sticks in winter, @bob.' })
  await bob('POST', `${path}/issues`, {
    title: 'The moon is too bright',
    body: 'At full moon, pictures are **white**.',
    labels: labels.slice(1),
    assignees: ['bob', 'carol'],
  })
  await carol('POST', `${path}/issues/2/comments`, { body: 'A filter may help, @bob.' })
  await carol('POST', `${path}/statuses/${commit.sha}`, {
    state: 'success',
    context: 'build',
    description: 'built in 42 seconds',
  })
}
