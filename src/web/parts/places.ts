/** How long a page may take until it is as long as it was. */
const RESTORE_MS = 10_000

/** What somebody does who has read enough of the old place. */
const INPUTS = ['wheel', 'touchstart', 'keydown', 'pointerdown'] as const

/** The state of an entry of the history. */
interface EntryState {
  readonly key: string
}

/** The name of the places in the storage of the tab, where they outlive a reload. */
const STORED = 'branchline-places'

/** Places of earlier entries are forgotten. */
const MAX_STORED = 100

const places = readPlaces()
let current = ''
let count = 0
let stopRestoring: (() => void) | undefined

function readPlaces(): Map<string, number> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(STORED) ?? '[]') as [string, number][])
  } catch {
    // Without storage, or with what is no list, pages begin at the top.
    return new Map()
  }
}

/** Returns the state of a new entry of the history, whose page begins at the top. */
export function beginEntry(): EntryState {
  stopRestoring?.()
  count += 1
  // The same numbers occur in the entries of earlier visits.
  current = `${performance.timeOrigin} ${count}`
  return { key: current }
}

/**
 * Keeps the place of each entry of the history, and goes there when the user comes back. The browser
 * cannot, since the page is short until its content has come from the server.
 *
 * @returns what ends that.
 */
export function keepPlaces(): () => void {
  history.scrollRestoration = 'manual'
  arrive()
  const record = () => {
    if (!stopRestoring) places.set(current, scrollY)
  }
  const leave = () => sessionStorage.setItem(STORED, JSON.stringify([...places].slice(-MAX_STORED)))
  addEventListener('scroll', record, { passive: true })
  addEventListener('popstate', arrive)
  addEventListener('hashchange', noteFragment)
  addEventListener('pagehide', leave)
  return () => {
    stopRestoring?.()
    removeEventListener('scroll', record)
    removeEventListener('popstate', arrive)
    removeEventListener('hashchange', noteFragment)
    removeEventListener('pagehide', leave)
  }
}

/** Notes the present entry of the history, and restores its place. */
function arrive(): void {
  const state = history.state as EntryState | null
  // The first entry, or one that a link to a part of the page has added.
  if (!state) {
    history.replaceState(beginEntry(), '')
    return
  }
  current = state.key
  stopRestoring?.()
  restore(places.get(current) ?? 0)
}

/** Not every browser says `popstate` when a link leads to a part of the page. */
function noteFragment(): void {
  if (history.state === null) arrive()
}

/** Goes to a place again whenever the page becomes longer, until the user does something else. */
function restore(place: number): void {
  const grown = new ResizeObserver(() => scrollTo(0, place))
  const stop = () => {
    grown.disconnect()
    clearTimeout(timer)
    for (const input of INPUTS) removeEventListener(input, stop)
    stopRestoring = undefined
  }
  const timer = setTimeout(stop, RESTORE_MS)
  for (const input of INPUTS) addEventListener(input, stop, { passive: true })
  stopRestoring = stop
  grown.observe(document.body)
}
