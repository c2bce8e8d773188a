import markdownIt from 'markdown-it'
import { type LinkBase, sanitisedMarkup } from './sanitised.ts'

/** CommonMark with tables and struck out text. HTML stays, because the sanitiser follows. */
const parser = markdownIt({ html: true, linkify: true })

/** Returns the HTML of a text in Markdown. */
export function renderMarkdown(text: string, base: LinkBase): DocumentFragment {
  return sanitisedMarkup(parser.render(text), base)
}
