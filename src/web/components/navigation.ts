import { useEffect, useState } from 'preact/hooks'
import { routeOf } from '../routes.ts'
import { Places } from './scroll-restoration.ts'

/** Dispatched on the window when the address has changed without a load. */
const MOVED = 'branchline-moved'

/** Goes to an address of this server without a load. */
export function goTo(href: string): void {
  history.pushState(null, '', href)
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
      // The server said so about the first address.
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
