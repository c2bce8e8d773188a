import { useEffect, useState } from 'preact/hooks'
import { forgetBegun } from '../first-calls/begun-calls.ts'
import { routeOf } from '../routes.ts'
import { elementOf, fragmentName } from './fragments.ts'
import { storageOf } from './stored.ts'

/** Dispatched on the window when the address has changed without a load. */
const MOVED = 'branchline-moved'

/** Goes to an address of this server without a load. */
export function goTo(href: string): void {
  history.pushState(null, '', href)
  dispatchEvent(new Event(MOVED))
}

/** Goes to an address in place of the present one, which leads there. */
export function goInstead(href: string): void {
  history.replaceState(null, '', href)
  dispatchEvent(new Event(MOVED))
}

/**
 * Returns the address without its fragment, and follows clicks on links to pages. The browser
 * follows all other links, and those that the user opens elsewhere.
 */
export function useNavigation(): string {
  const [href, setHref] = useState(currentAddress)
  useEffect(() => {
    const places = new Places()
    const update = () => {
      places.arrive()
      // Both are about the first address.
      forgetBegun()
      delete document.documentElement.dataset.page
      setHref(currentAddress())
    }
    const click = (event: MouseEvent) => {
      const target = targetOf(event)
      if (target === undefined) return
      // The browser says nothing when a link leads to the present fragment.
      if (target === location.href && location.hash !== '') return places.follow()
      if (isOnPage(target)) return
      event.preventDefault()
      goTo(target)
    }
    addEventListener('popstate', update)
    addEventListener(MOVED, update)
    document.addEventListener('click', click)
    return () => {
      places.stop()
      removeEventListener('popstate', update)
      removeEventListener(MOVED, update)
      document.removeEventListener('click', click)
    }
  }, [])
  return href
}

/** Returns the fragment of the address, and follows its changes. */
export function useFragment(): string {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const update = () => setFragment(location.hash)
    for (const change of FRAGMENT_CHANGES) addEventListener(change, update)
    return () => {
      for (const change of FRAGMENT_CHANGES) removeEventListener(change, update)
    }
  }, [])
  return fragment
}

const FRAGMENT_CHANGES = ['hashchange', 'popstate', MOVED] as const

function currentAddress(): string {
  return location.href.split('#')[0] ?? ''
}

/** Returns whether an address is a part of the present page, where the browser goes by itself. */
function isOnPage(href: string): boolean {
  const [address, fragment] = href.split('#')
  return fragment !== undefined && address === currentAddress()
}

/** Returns the address of the page that a click leads to; undefined for everything else. */
function targetOf(event: MouseEvent): string | undefined {
  const { button, ctrlKey, metaKey, shiftKey, altKey, defaultPrevented, target } = event
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey || defaultPrevented) return undefined
  const link = target instanceof Element ? target.closest('a') : null
  if (!link?.href || link.target !== '' || link.hasAttribute('download')) return undefined
  const url = new URL(link.href)
  if (url.origin !== location.origin) return undefined
  return routeOf(url) ? link.href : undefined
}

/** How long a page grows after its place is there. */
const SETTLE_MS = 10_000

/** Input events that end the restoration. */
const INPUTS = ['wheel', 'touchstart', 'keydown', 'pointerdown'] as const

/** Key of the scroll positions in the storage of the tab, which survives a reload. */
const STORED = 'branchline-places'

/** Number of stored positions. Older ones are removed. */
const MAX_STORED = 100

/** The state of an entry of the history. */
interface EntryState {
  readonly key: string
}

/**
 * Decides where a page scrolls. A new entry of the history goes to the fragment of its address, or
 * begins at the top. An entry that the user comes back to goes to its old place. The browser cannot do
 * so, since a page is short until its content has come from the server.
 */
export class Places {
  readonly #places = readPlaces()
  #current = ''
  #count = 0
  #told = ''
  #stopScrolling: (() => void) | undefined

  constructor() {
    history.scrollRestoration = 'manual'
    addEventListener('scroll', this.#record, { passive: true })
    addEventListener('hashchange', this.#noteFragment)
    addEventListener('pagehide', this.#store)
    this.arrive()
  }

  /** Notes the present entry of the history, and goes to its place. */
  arrive(): void {
    const known = (history.state as EntryState | null)?.key
    if (known !== undefined && known !== this.#current) {
      this.#current = known
      const place = this.#places.get(known)
      if (place !== undefined) {
        this.#scroll(() => {
          scrollTo(0, place)
          return Math.abs(scrollY - place) < 1
        })
        return
      }
    } else if (known === undefined) this.#begin()
    this.follow()
  }

  /** Goes where the fragment of the address leads, or to the top if there is none. */
  follow(): void {
    const { hash } = location
    this.#stopScrolling?.()
    if (hash === '') scrollTo(0, 0)
    // Again when the page grows, for what is above the element may come later.
    else
      this.#scroll(() => {
        const element = elementOf(hash)
        element?.scrollIntoView({ inline: 'nearest' })
        if (element?.id === fragmentName(hash)) this.#tellBrowser(element)
        return element !== null
      })
  }

  /**
   * Repeats the navigation once for the browser, which looked for the element before it was there:
   * styles know the target, and the tab key goes on from there.
   */
  #tellBrowser(element: HTMLElement): void {
    if (this.#told === location.href || element.matches(':target')) return
    this.#told = location.href
    location.replace(location.hash)
  }

  #begin(): void {
    this.#count += 1
    // The same numbers occur in the entries of earlier visits.
    this.#current = `${performance.timeOrigin} ${this.#count}`
    const added: EntryState = { key: this.#current }
    history.replaceState(added, '')
  }

  stop(): void {
    this.#stopScrolling?.()
    removeEventListener('scroll', this.#record)
    removeEventListener('hashchange', this.#noteFragment)
    removeEventListener('pagehide', this.#store)
  }

  readonly #record = () => {
    if (!this.#stopScrolling) this.#places.set(this.#current, scrollY)
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

  /**
   * Scrolls again whenever the page becomes longer, until the user does something else.
   *
   * @param go returns whether the place is there, which takes long on a slow connection.
   */
  #scroll(go: () => boolean): void {
    this.#stopScrolling?.()
    let timer: ReturnType<typeof setTimeout> | undefined
    const grown = new ResizeObserver(() => {
      if (go()) timer ??= setTimeout(stop, SETTLE_MS)
    })
    const stop = () => {
      grown.disconnect()
      clearTimeout(timer)
      for (const input of INPUTS) removeEventListener(input, stop)
      this.#stopScrolling = undefined
    }
    for (const input of INPUTS) addEventListener(input, stop, { passive: true })
    this.#stopScrolling = stop
    grown.observe(document.body)
  }
}

function readPlaces(): Map<string, number> {
  try {
    const stored = storageOf('sessionStorage')?.getItem(STORED)
    return new Map(JSON.parse(stored ?? '[]') as [string, number][])
  } catch {
    // Invalid stored data: start at the top.
    return new Map()
  }
}
