import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext } from 'playwright-core'
import { hasChromium, launchBrowser } from '../test/support/chromium-program.ts'
import { type Credentials, makeAdministrator, signInBody } from './accounts.ts'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'
import { FLAT_FOLDER, prepareWebRepository, type WebRepository } from './web-repositories.ts'

const ROUNDS = sized(5, 1)

/** Longer than any page takes. */
export const TIMEOUT_MS = 60_000

/** A page, and what a reader waits for. */
interface WebPage {
  readonly name: string
  /** The name of the page that it is compared with, which has the same form and little content. */
  readonly of?: string
  readonly path: string
  /** Paths of REST that answer what the page reads from the repository. */
  readonly calls: readonly string[]
  /** The first part of the content, which a reader can use when it receives clicks. */
  readonly usable: Part
  /** The last part of the content. */
  readonly complete: Part
}

/** The element that matches a selector and has a text, of its own or as its label. */
interface Part {
  readonly selector: string
  readonly text: string
}

/** What one visit takes. */
interface Visit {
  readonly usableMs: number
  readonly completeMs: number
  readonly serverCpuMs: number
  readonly browserCpuMs: number
}

/** A server on a data folder that outlives it. */
interface RunningServer {
  readonly branchline: ServerProcess
  readonly browser: Browser
}

/** How much has been read before. */
const STATES = ['restarted server', 'new browser', 'second visit'] as const
type State = (typeof STATES)[number]

/** Starts a Branchline with some arguments, which ends with the bench. */
type Start = (...args: readonly string[]) => Promise<ServerProcess>

/**
 * Opens pages of a large repository and of a small one in Chromium, alternately, and prints the time
 * until a reader can use them.
 *
 * @param folder for the data folder and the pushed repositories.
 */
export async function measureWebPages(start: Start, folder: string): Promise<string> {
  if (!hasChromium) return 'Web pages are not measured, because Chromium is not installed.'
  await mkdir(folder)
  const restart = () => start('--data', join(folder, 'data'))
  let branchline = await restart()
  const credentials = await makeAdministrator(branchline.url)
  const small = await prepareWebRepository(branchline, credentials, folder, 'small')
  const large = await prepareWebRepository(branchline, credentials, folder, 'large')
  const browser = await launchBrowser()
  try {
    const pages = pagesOf(small, large)
    const visits = new Map<string, Visit[]>()
    const apiTimes = new Map<string, number[]>()
    for (let round = 0; round < ROUNDS; round++)
      for (const page of pages) {
        process.stderr.write(`web: ${page.name} …\n`)
        await branchline.stop()
        branchline = await restart()
        for (const [state, visit] of await visitThrice({ branchline, browser }, page))
          collect(visits, keyOf(page, state), visit)
        collect(apiTimes, page.name, await timeCalls(branchline, credentials, page))
      }
    return printVisits(pages, visits, apiTimes)
  } finally {
    await browser.close()
    await branchline.stop()
  }
}

function collect<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}

function keyOf({ name }: WebPage, state: State): string {
  return `${name} ${state}`
}

function pagesOf(small: WebRepository, large: WebRepository): WebPage[] {
  return [
    firstPage('first page, 50 files', small),
    { ...firstPage('first page, 50,000 files', large), of: 'first page, 50 files' },
    { ...flatFolder('a folder of 5000 files', large), of: 'first page, 50 files' },
    changedFiles('changes, 10 files', small),
    { ...changedFiles('changes, 10,000 files', large), of: 'changes, 10 files' },
  ]
}

function firstPage(name: string, { repository, folder }: WebRepository): WebPage {
  const api = `/api/v1/repos/ada/${repository}`
  return {
    name,
    path: `/ada/${repository}`,
    calls: [api, `${api}/contents`, `${api}/contents/README.md`],
    usable: { selector: 'a', text: `${folder}/` },
    complete: { selector: 'h2', text: 'What it is' },
  }
}

function flatFolder(name: string, { repository }: WebRepository): WebPage {
  const api = `/api/v1/repos/ada/${repository}`
  return {
    name,
    path: `/ada/${repository}/src/branch/main/${FLAT_FOLDER}`,
    calls: [api, `${api}/contents/${FLAT_FOLDER}`],
    usable: { selector: 'a', text: 'file-0000' },
    complete: {
      selector: 'p',
      text: 'Only the first 1,000 entries are shown. A clone has all of them.',
    },
  }
}

function changedFiles(name: string, changes: WebRepository): WebPage {
  const { repository, pull, changedFiles, folder } = changes
  const api = `/api/v1/repos/ada/${repository}`
  return {
    name,
    path: `/ada/${repository}/pulls/${pull}/files`,
    calls: [api, `${api}/pulls/${pull}`, `${api}/pulls/${pull}.diff`],
    usable: { selector: 'section', text: `Changes of ${folder}/file-00` },
    complete: {
      selector: '[role=status]',
      text: `${changedFiles.toLocaleString('en')} changed files`,
    },
  }
}

/** Opens a page on a server that has just started, in a new browser, and in the same again. */
async function visitThrice(server: RunningServer, page: WebPage): Promise<[State, Visit][]> {
  const visits: [State, Visit][] = []
  for (const states of [['restarted server'], ['new browser', 'second visit']] as const) {
    const context = await signedIn(server)
    for (const state of states) visits.push([state, await visit(context, server, page)])
    await context.close()
  }
  return visits
}

/** Returns a browser with empty storage and the session of the administrator. */
export async function signedIn({ browser, branchline }: RunningServer): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: branchline.url.href,
    locale: 'en-GB',
    viewport: { width: 1280, height: 900 },
  })
  const answer = await context.request.post('/api/v1/auth/signin', { data: signInBody })
  if (!answer.ok()) throw new Error(`a sign-in is answered ${answer.status()}`)
  return context
}

async function visit(
  context: BrowserContext,
  { branchline }: RunningServer,
  webPage: WebPage,
): Promise<Visit> {
  const page = await context.newPage()
  // In the page, since Playwright waits up to half a second between two looks at a page.
  await page.addInitScript({ content: watchParts(webPage) })
  page.setDefaultTimeout(TIMEOUT_MS)
  const devtools = await context.newCDPSession(page)
  // CPU time of the main thread, rather than the time that passes.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const cpuBeforeMs = branchline.cpuMs() ?? Number.NaN
  await page.goto(webPage.path, { waitUntil: 'commit' })
  const times = await page.evaluate<Pick<Visit, 'usableMs' | 'completeMs'>>('benchTimes')
  const { metrics } = await devtools.send('Performance.getMetrics')
  const taskSeconds = metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
  const serverCpuMs = (branchline.cpuMs() ?? Number.NaN) - cpuBeforeMs
  await page.close()
  return { ...times, serverCpuMs, browserCpuMs: taskSeconds * 1000 }
}

/**
 * Runs in the page: promises the times, from the start of the navigation, at which the first part
 * receives clicks and the last part is there.
 */
const watchParts = ({
  usable,
  complete,
}: WebPage) => `globalThis.benchTimes = new Promise((found) => {
  const find = ({ selector, text }) =>
    [...document.querySelectorAll(selector)].find(
      (element) => element.textContent.trim() === text || element.ariaLabel === text,
    )
  const receivesClicks = (element) => {
    const { left, top, width } = element.getBoundingClientRect()
    // The first line of a long element is visible.
    return element.contains(document.elementFromPoint(left + width / 2, top + 5))
  }
  let usableMs
  const look = () => {
    const first = usableMs === undefined ? find(${JSON.stringify(usable)}) : undefined
    if (first && receivesClicks(first)) usableMs = performance.now()
    const isComplete = usableMs !== undefined && find(${JSON.stringify(complete)})
    if (isComplete) found({ usableMs, completeMs: performance.now() })
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})`

/** Returns how long the calls of a page take, one after the other, right after the page. */
async function timeCalls(
  { url }: ServerProcess,
  { personalAccessToken }: Credentials,
  { calls }: WebPage,
): Promise<number> {
  const startedMs = performance.now()
  for (const path of calls) {
    const { status, body } = await http1.ask(url, get(path, personalAccessToken))
    if (status !== 200) throw new Error(`GET ${path} is answered ${status}: ${body}`)
  }
  return performance.now() - startedMs
}

function printVisits(
  pages: readonly WebPage[],
  visits: ReadonlyMap<string, readonly Visit[]>,
  apiTimes: ReadonlyMap<string, readonly number[]>,
): string {
  const byName = new Map(pages.map((page) => [page.name, page]))
  const figure = (page: WebPage, state: State, of: keyof Visit) =>
    median((visits.get(keyOf(page, state)) ?? []).map((visit) => visit[of]))
  const rows = pages.flatMap((page) =>
    STATES.map((state) => {
      const own = (of: keyof Visit) => figure(page, state, of)
      const baseline = byName.get(page.of ?? '')
      return [
        `${page.name}, ${state}`,
        own('usableMs').toFixed(0),
        own('completeMs').toFixed(0),
        baseline ? (own('usableMs') / figure(baseline, state, 'usableMs')).toFixed(2) : '',
        own('serverCpuMs').toFixed(0),
        own('browserCpuMs').toFixed(0),
        state === 'second visit' ? median(apiTimes.get(page.name) ?? []).toFixed(0) : '',
        baseline ? baseline.name : '',
      ]
    }),
  )
  const head = ['Web page', 'usable ms', 'complete ms', 'times']
  return table([...head, 'server CPU ms', 'browser CPU ms', 'calls ms', 'of'], rows)
}
