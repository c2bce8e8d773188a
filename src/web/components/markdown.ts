import markdownIt from 'markdown-it'
import { OF_TEXTS } from './fragments.ts'
import { type LinkBase, sanitisedMarkup } from './sanitised.ts'

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
    box.setAttribute('aria-label', mark === ' ' ? 'Open task' : 'Completed task')
    text.before(box, ' ')
    item.className = 'task'
  }
}
