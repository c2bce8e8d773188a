import { storageOf } from './stored.ts'

/** How long a page may take until it is as long as it was. */
const RESTORE_MS = 10_000

/** What somebody does who has read enough of the old place. */
const INPUTS = ['wheel', 'touchstart', 'keydown', 'pointerdown'] as const

/** The name of the places in the storage of the tab, where they outlive a reload. */
const STORED = 'branchline-places'

/** Places of earlier entries are forgotten. */
const MAX_STORED = 100

/** The state of an entry of the history. */
interface EntryState {
  readonly key: string
}

/**
 * Keeps the place of each entry of the history, and goes there when the user comes back. The browser
 * cannot, since the page is short until its content has come from the server.
 */
export class Places {
  readonly #places = readPlaces()
  #current = ''
  #count = 0
  #stopRestoring: (() => void) | undefined

  constructor() {
    history.scrollRestoration = 'manual'
    addEventListener('scroll', this.#record, { passive: true })
    addEventListener('hashchange', this.#noteFragment)
    addEventListener('pagehide', this.#store)
    this.arrive()
  }

  /** Notes the present entry of the history. Its page begins at the top, or goes to its old place. */
  arrive(): void {
    this.#stopRestoring?.()
    const state = history.state as EntryState | null
    if (state) {
      this.#current = state.key
      this.#restore(this.#places.get(state.key) ?? 0)
      return
    }
    this.#count += 1
    // The same numbers occur in the entries of earlier visits.
    this.#current = `${performance.timeOrigin} ${this.#count}`
    const added: EntryState = { key: this.#current }
    history.replaceState(added, '')
  }

  stop(): void {
    this.#stopRestoring?.()
    removeEventListener('scroll', this.#record)
    removeEventListener('hashchange', this.#noteFragment)
    removeEventListener('pagehide', this.#store)
  }

  readonly #record = () => {
    if (!this.#stopRestoring) this.#places.set(this.#current, scrollY)
  }

  readonly #store = () => {
    try {
      const places = JSON.stringify([...this.#places].slice(-MAX_STORED))
      storageOf('sessionStorage')?.setItem(STORED, places)
    } catch {
      // The storage is full. The next visit begins at the top.
    }
  }

  /** Not every browser says `popstate` when a link leads to a part of the page. */
  readonly #noteFragment = () => {
    if (history.state === null) this.arrive()
  }

  /** Goes to a place again whenever the page becomes longer, until the user does something else. */
  #restore(place: number): void {
    const grown = new ResizeObserver(() => scrollTo(0, place))
    const stop = () => {
      grown.disconnect()
      clearTimeout(timer)
      for (const input of INPUTS) removeEventListener(input, stop)
      this.#stopRestoring = undefined
    }
    const timer = setTimeout(stop, RESTORE_MS)
    for (const input of INPUTS) addEventListener(input, stop, { passive: true })
    this.#stopRestoring = stop
    grown.observe(document.body)
  }
}

function readPlaces(): Map<string, number> {
  try {
    const stored = storageOf('sessionStorage')?.getItem(STORED)
    return new Map(JSON.parse(stored ?? '[]') as [string, number][])
  } catch {
    // With what is no list, pages begin at the top.
    return new Map()
  }
}
