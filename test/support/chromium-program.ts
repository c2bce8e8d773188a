import { type Browser, chromium } from 'playwright-core'
import { isInstalled } from '../clients/program.ts'

/**
 * The last switch counts, so that the features that Playwright switches off (`chromiumSwitches.ts` there)
 * are named again, as far as they concern pages of 127.0.0.1 without a network.
 */
const DISABLED_FEATURES = [
  // Each window would have two hidden pages for its address bar, which take half of its CPU time.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]

const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What saves CPU time where no time is measured. */
const FRUGAL: BrowserOptions = {
  args: [
    // A page of a test lives for seconds, too short for code that a compiler has improved.
    '--js-flags=--no-maglev --no-turbofan --single-threaded-gc',
    // One process for all pages of a context: the start of a process takes a fifth of a core-second.
    '--disable-site-isolation-trials',
    '--renderer-process-limit=1',
  ],
  // A process for a page that may come, for each context.
  disabledFeatures: ['SpareRendererForSitePerProcess'],
}

/**
 * Debian's Chromium without what belongs to windows and profiles, with the same engine. On 2026-11-28 six
 * visits by new contexts took 6.6 core-seconds with this program, and 10.8 with Chromium.
 */
const hasShell = isInstalled('chromium-headless-shell')

export const hasChromium = isInstalled('chromium')

interface BrowserOptions {
  readonly program?: 'chromium' | 'chromium-headless-shell'
  readonly args?: readonly string[]
  readonly disabledFeatures?: readonly string[]
}

/** Starts a browser, with the switches of tests and the given ones. */
export function launchBrowser({
  program = 'chromium',
  args = [],
  disabledFeatures = [],
}: BrowserOptions = {}): Promise<Browser> {
  const disabled = [...DISABLED_FEATURES, ...disabledFeatures]
  return chromium.launch({
    executablePath: `/usr/bin/${program}`,
    args: [`--disable-features=${disabled.join(',')}`, ...CHROMIUM_ARGS, ...args],
  })
}

let running: Promise<Browser> | undefined

/** Returns the browser of this worker, which ends with it. A file of tests closes its windows only. */
export async function openBrowser(): Promise<Browser> {
  const browser = await running
  if (browser?.isConnected()) return browser
  running = launchBrowser({
    ...FRUGAL,
    program: hasShell ? 'chromium-headless-shell' : 'chromium',
  })
  return running
}

/** Closes the windows of everybody. */
export async function closeWindows(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()))
}
