import { useEffect, useState } from 'preact/hooks'
import { routeOf } from '../routes.ts'
import { Places } from './places.ts'

/** Dispatched on the window when the address has changed without a load. */
const MOVED = 'branchline-moved'

/** Goes to an address of this server without a load. */
export function goTo(href: string): void {
  history.pushState(null, '', href)
  dispatchEvent(new Event(MOVED))
  scrollTo(0, 0)
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

function currentAddress(): string {
  return location.href.split('#')[0] ?? ''
}

/** Returns the address of the page that a click leads to; undefined for everything else. */
function targetOf(event: MouseEvent): string | undefined {
  const { button, ctrlKey, metaKey, shiftKey, altKey, defaultPrevented, target } = event
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey || defaultPrevented) return undefined
  const link = target instanceof Element ? target.closest('a') : null
  if (!link?.href || link.target !== '' || link.hasAttribute('download')) return undefined
  const url = new URL(link.href)
  const isFragment = url.hash !== '' && url.href.split('#')[0] === currentAddress()
  if (url.origin !== location.origin || isFragment) return undefined
  return routeOf(url) ? link.href : undefined
}
