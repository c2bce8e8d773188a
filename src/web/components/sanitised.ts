import DOMPurify from 'dompurify'
import { ownHref } from '../addresses.ts'

/** Where relative addresses of a text lead. */
export interface LinkBase {
  /** The address of the folder that the text is in, for links to pages. */
  readonly page: string
  /** The address of the same folder for the content of files, such as pictures. */
  readonly raw: string
}

const MARKUP = {
  USE_PROFILES: { html: true },
  // Ids and names of a text could hide those of the page (DOM clobbering).
  SANITIZE_NAMED_PROPS: true,
  FORBID_TAGS: [
    'style',
    'form',
    'input',
    'button',
    'textarea',
    'select',
    'dialog',
    'audio',
    'video',
  ],
  FORBID_ATTR: ['style', 'class', 'srcset', 'autofocus', 'target'],
}

/**
 * Returns the safe part of HTML from a stranger. Links that leave the server say nothing about the
 * page they were on. Pictures of other servers become links, since loading them would tell these
 * servers about the reader.
 */
export function sanitisedMarkup(html: string, base: LinkBase): DocumentFragment {
  const safe = DOMPurify.sanitize(html, { ...MARKUP, RETURN_DOM_FRAGMENT: true })
  for (const element of safe.querySelectorAll('[href], [src]')) adaptAddresses(element, base)
  return safe
}

function adaptAddresses(element: Element, base: LinkBase): void {
  const [href, src] = [element.getAttribute('href'), element.getAttribute('src')]
  if (href !== null && !href.startsWith('#')) {
    const url = resolved(href, base.page)
    element.setAttribute('href', url)
    if (new URL(url, location.origin).origin !== location.origin)
      element.setAttribute('rel', 'nofollow noopener noreferrer')
  }
  if (src === null) return
  const url = resolved(src, base.raw)
  if (url.startsWith('data:') || new URL(url, location.origin).origin === location.origin) {
    element.setAttribute('src', url)
    return
  }
  const link = document.createElement(element.closest('a') ? 'span' : 'a')
  if (link instanceof HTMLAnchorElement) {
    link.href = url
    link.rel = 'nofollow noopener noreferrer'
  }
  link.textContent = element.getAttribute('alt') || url
  element.replaceWith(link)
}

/** Returns an address that does not depend on the address of the page. */
function resolved(address: string, folder: string): string {
  if (address.startsWith('/') || /^[a-z][a-z0-9+.-]*:/i.test(address)) return address
  return ownHref(new URL(address, `${location.origin}${folder}/`).href)
}
