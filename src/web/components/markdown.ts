import DOMPurify from 'dompurify'
import markdownIt from 'markdown-it'
import { ownHref } from '../addresses.ts'
import { t } from '../language/texts.tsx'
import { OF_TEXTS } from './fragments.ts'

/** CommonMark with tables and struck out text. HTML stays, because the sanitiser follows. */
const parser = markdownIt({ html: true, linkify: true })

/** Returns the HTML of a text in Markdown. */
export function renderMarkdown(text: string, base: LinkBase): DocumentFragment {
  const content = sanitisedMarkup(parser.render(text), base)
  nameHeadings(content)
  markTasks(content)
  return content
}

/** Names headings as GitHub does, for links to them. */
function nameHeadings(content: DocumentFragment): void {
  const counts = new Map<string, number>()
  for (const heading of content.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const text = (heading.textContent ?? '').trim().toLowerCase()
    const name = text.replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '').replaceAll(' ', '-')
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    if (heading.id === '') heading.id = OF_TEXTS + (count === 0 ? name : `${name}-${count}`)
  }
}

/** The beginning of a task (GitHub Flavored Markdown 5.3). */
const TASK = /^\s*\[([ xX])\]\s+/

/** Shows tasks of lists as check boxes. Nobody can change them, since the text is in a file. */
function markTasks(content: DocumentFragment): void {
  for (const item of content.querySelectorAll('li')) {
    const first = item.firstElementChild
    // The items of a list with blank lines are paragraphs.
    const isParagraph = first?.tagName === 'P' && !item.firstChild?.textContent?.trim()
    const text = isParagraph ? first.firstChild : item.firstChild
    const [beginning, mark] = (text instanceof Text && TASK.exec(text.data)) || []
    if (beginning === undefined || !(text instanceof Text)) continue
    text.data = text.data.slice(beginning.length)
    const box = document.createElement('input')
    box.type = 'checkbox'
    box.disabled = true
    // An attribute, since a copy of the element has only these.
    box.toggleAttribute('checked', mark !== ' ')
    box.setAttribute('aria-label', mark === ' ' ? t('Open task') : t('Completed task'))
    text.before(box, ' ')
    item.className = 'task'
  }
}

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
