import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { hasChromium, launchBrowser } from '../test/support/chromium-program.ts'
import { type Credentials, makeAdministrator } from './accounts.ts'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { postJson } from './requests.ts'
import { sized } from './sizes.ts'
import { signedIn, TIMEOUT_MS } from './web-pages.ts'
import { FLAT_FOLDER, prepareWebRepository } from './web-repositories.ts'

const ROUNDS = sized(5, 1)

/** A slow line: the time to the first byte of each answer, and the bytes of a second. */
const LINE = { latencyMs: 400, bytesPerSecond: 50_000 }

/** How far a frame of a scrolled list goes. */
const STEP_PIXELS = 120

/** A frame that takes longer has lost one at least, of 60 in a second. */
const DROPPED_MS = 1000 / 30

/** A page, and a text that a reader waits for. */
interface SlowPage {
  readonly name: string
  readonly path: string
  readonly text: string
}

/** What a first visit takes until a reader can use the page. */
interface FirstVisit {
  readonly usableMs: number
  /** Requests whose answers had arrived. */
  readonly requests: number
  readonly scripts: number
  /** Of scripts, with their headers, as the line carries them. */
  readonly scriptBytes: number
  /** Requests of the whole visit. */
  readonly allRequests: number
}

/** An answer on the line. */
interface Transfer {
  readonly isScript: boolean
  readonly bytes: number
  readonly atMs: number
}

/**
 * Opens pages in Chromium over a slow line, with an empty cache, and scrolls a list of 1,000 rows.
 *
 * @param folder for the data folder and the pushed repositories.
 */
export async function measureSlowWebPages(
  start: (...args: readonly string[]) => Promise<ServerProcess>,
  folder: string,
): Promise<string> {
  if (!hasChromium) return 'Web pages are not measured, because Chromium is not installed.'
  await mkdir(folder)
  const branchline = await start('--data', join(folder, 'data'))
  const browser = await launchBrowser()
  try {
    const credentials = await makeAdministrator(branchline.url)
    const pages = await preparePages(branchline, credentials, folder)
    const rows: string[][] = []
    for (const page of pages) {
      process.stderr.write(`web-slow: ${page.name} …\n`)
      const visits: FirstVisit[] = []
      for (let round = 0; round < ROUNDS; round++)
        visits.push(await visitFirst({ browser, branchline }, page))
      rows.push(rowOf(page, visits))
    }
    const scrolled = await scrollList({ browser, branchline }, `/ada/web-large`)
    const head = ['First visit', 'usable ms', 'requests', 'scripts', 'script KiB', 'in all']
    return [
      `Over a line of ${LINE.latencyMs} ms and ${LINE.bytesPerSecond / 1000} KB/s, as a user with an empty cache.`,
      table(head, rows),
      scrolled,
    ].join('\n\n')
  } finally {
    await browser.close()
    await branchline.stop()
  }
}

async function preparePages(
  branchline: ServerProcess,
  credentials: Credentials,
  folder: string,
): Promise<SlowPage[]> {
  const { repository, pull } = await prepareWebRepository(branchline, credentials, folder, 'small')
  await prepareWebRepository(branchline, credentials, folder, 'large')
  const authorization = `Bearer ${credentials.personalAccessToken}`
  const api = `/api/v1/repos/ada/${repository}`
  const say = async (path: string, body: object) => {
    const { status } = await http1.ask(branchline.url, postJson(path, body, { authorization }))
    if (status !== 201) throw new Error(`POST ${path} is answered ${status}`)
  }
  await say(`${api}/issues`, { title: 'Something is slow', body: 'Please look.' })
  for (const number of [pull, pull + 1])
    for (let i = 0; i < 10; i++)
      await say(`${api}/issues/${number}/comments`, { body: `Comment ${i} of a **reader**.` })
  const own = `/ada/${repository}`
  return [
    { name: 'a pull request', path: `${own}/pulls/${pull}`, text: 'Comment 9 of' },
    { name: 'its files', path: `${own}/pulls/${pull}/files`, text: 'one more line' },
    { name: 'an issue', path: `${own}/issues/${pull + 1}`, text: 'Comment 9 of' },
    { name: 'pull requests', path: `${own}/pulls`, text: 'Change many files' },
    { name: 'a repository', path: own, text: 'README.md' },
  ]
}

interface Place {
  readonly browser: Browser
  readonly branchline: ServerProcess
}

async function visitFirst(place: Place, { path, text }: SlowPage): Promise<FirstVisit> {
  const context = await signedIn(place)
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  const transfers = await onSlowLine(context, page)
  await page.addInitScript({ content: watchText(text) })
  await page.goto(path, { waitUntil: 'commit' })
  const usableAtMs = await page.evaluate<number>('benchUsable')
  // The origin of `performance.now()` is the begin of the navigation, as that of the transfers.
  await page.waitForLoadState('networkidle').catch(() => undefined)
  const before = transfers().filter(({ atMs }) => atMs <= usableAtMs)
  const scripts = before.filter(({ isScript }) => isScript)
  const visit = {
    usableMs: usableAtMs,
    requests: before.length,
    scripts: scripts.length,
    scriptBytes: scripts.reduce((sum, { bytes }) => sum + bytes, 0),
    allRequests: transfers().length,
  }
  await context.close()
  return visit
}

/** Makes the line of a page slow. Returns what reads the transfers so far. */
async function onSlowLine(context: BrowserContext, page: Page): Promise<() => Transfer[]> {
  const devtools: CDPSession = await context.newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LINE.latencyMs,
    downloadThroughput: LINE.bytesPerSecond,
    uploadThroughput: LINE.bytesPerSecond,
  })
  let startSeconds: number | undefined
  const scripts = new Map<string, boolean>()
  const transfers: Transfer[] = []
  devtools.on('Network.requestWillBeSent', ({ requestId, request, timestamp }) => {
    // Icons of the style sheet have their content in their address.
    if (request.url.startsWith('data:')) return
    startSeconds ??= timestamp
    scripts.set(requestId, new URL(request.url).pathname.endsWith('.js'))
  })
  devtools.on('Network.loadingFinished', ({ requestId, timestamp, encodedDataLength }) => {
    const isScript = scripts.get(requestId)
    if (isScript === undefined) return
    const atMs = (timestamp - (startSeconds ?? timestamp)) * 1000
    transfers.push({ isScript, bytes: encodedDataLength, atMs })
  })
  return () => transfers
}

/** Runs in the page: promises the time from the start of the navigation at which a text is there. */
const watchText = (text: string) => `globalThis.benchUsable = new Promise((found) => {
  const look = () =>
    document.body?.innerText.includes(${JSON.stringify(text)})
      ? found(performance.now())
      : requestAnimationFrame(look)
  requestAnimationFrame(look)
})`

function rowOf({ name }: SlowPage, visits: readonly FirstVisit[]): string[] {
  const figure = (of: keyof FirstVisit) => median(visits.map((visit) => visit[of]))
  return [
    name,
    figure('usableMs').toFixed(0),
    figure('requests').toFixed(0),
    figure('scripts').toFixed(0),
    (figure('scriptBytes') / 1024).toFixed(1),
    figure('allRequests').toFixed(0),
  ]
}

/** Scrolls a folder of 1,000 rows from its begin to its end, and says how long the frames took. */
async function scrollList(place: Place, repository: string): Promise<string> {
  const context = await signedIn(place)
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  await page.goto(`${repository}/src/branch/main/${FLAT_FOLDER}`)
  await page.getByText('Only the first 1,000 entries are shown.').waitFor()
  const frames = await page.evaluate<number[]>(`new Promise((done) => {
    const frames = []
    let before
    const step = (now) => {
      if (before !== undefined) frames.push(now - before)
      before = now
      const isEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1
      if (isEnd) return done(frames)
      scrollBy(0, ${STEP_PIXELS})
      requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  })`)
  await context.close()
  const dropped = frames.filter((frameMs) => frameMs > DROPPED_MS).length
  return `A list of 1,000 rows, scrolled to its end: ${frames.length} frames, ${dropped} of them longer than ${DROPPED_MS.toFixed(0)} ms; median ${median(frames).toFixed(1)} ms, longest ${Math.max(...frames).toFixed(0)} ms.`
}
