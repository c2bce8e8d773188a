import MarkdownIt, { type StateCore } from 'markdown-it'
import sanitizeHtml from 'sanitize-html'

/** A text to render. */
export interface MarkupRequest {
  readonly text: string
  /** Whether each line break of the text is one. */
  readonly keepsLineBreaks: boolean
  /** URL that relative links start from; undefined to leave them as they are. */
  readonly baseUrl: string | undefined
}

/** Deeper content is ignored. The parse time grows with depth times lines. */
const MAX_NESTING = 50

/** https://github.github.com/gfm/#task-list-item-marker */
const TASK_MARKER = /^\[([ \txX])\]\s+/

const documents = createParser(false)
const comments = createParser(true)

/**
 * What is left of HTML: the elements of https://github.github.com/gfm/ and of its tables and task
 * lists. Attributes that select, such as `id`, `name` and `style`, are left out, since they could
 * change the page that shows the result.
 */
const POLICY: sanitizeHtml.IOptions = {
  allowedTags: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'div', 'span', 'br', 'hr', 'blockquote'],
    ...['ul', 'ol', 'li', 'dl', 'dt', 'dd', 'input', 'details', 'summary'],
    ...['table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'caption'],
    ...['a', 'img', 'code', 'pre', 'kbd', 'samp', 'var', 'tt', 'q', 'cite', 'abbr'],
    ...['em', 'strong', 'i', 'b', 'u', 's', 'del', 'ins', 'mark', 'small', 'sub', 'sup'],
  ],
  allowedAttributes: {
    a: ['href', 'title', 'rel'],
    img: ['src', 'alt', 'title', 'width', 'height'],
    code: ['class'],
    input: ['type', 'checked', 'disabled'],
    ol: ['start'],
    details: ['open'],
    th: ['align', 'colspan', 'rowspan'],
    td: ['align', 'colspan', 'rowspan'],
    p: ['align'],
    div: ['align'],
  },
  allowedClasses: { code: [/^language-[\w+#.-]{1,40}$/] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesByTag: { img: ['http', 'https'] },
  allowProtocolRelative: false,
  nestingLimit: 2 * MAX_NESTING,
  exclusiveFilter: ({ tag, attribs }) => tag === 'input' && attribs.type !== 'checkbox',
}

/** Returns Markdown as HTML that is safe to show. */
export function renderMarkdown({ text, keepsLineBreaks, baseUrl }: MarkupRequest): string {
  const html = (keepsLineBreaks ? comments : documents).render(text)
  return sanitizeHtml(html, {
    ...POLICY,
    transformTags: {
      a: (tagName, { href, ...attribs }) => ({
        tagName,
        attribs: { ...attribs, ...resolved('href', href, baseUrl), rel: 'nofollow' },
      }),
      img: (tagName, { src, ...attribs }) => ({
        tagName,
        attribs: { ...attribs, ...resolved('src', src, baseUrl) },
      }),
      input: (tagName, { type = '', checked }) => ({
        tagName,
        attribs: { type, ...(checked !== undefined && { checked: '' }), disabled: '' },
      }),
    },
  })
}

function createParser(breaks: boolean): MarkdownIt {
  // A variable, because the types lack `maxNesting` and reject it in an object literal.
  const options = { html: true, linkify: true, breaks, maxNesting: MAX_NESTING }
  const parser = new MarkdownIt(options)
  parser.core.ruler.after('inline', 'task', addTaskBoxes)
  return parser
}

/** Replaces the markers of task list items by check boxes. */
function addTaskBoxes({ tokens, Token }: StateCore): void {
  for (const [index, { content, children }] of tokens.entries()) {
    const isItem = tokens[index - 2]?.type === 'list_item_open'
    if (!isItem || tokens[index - 1]?.type !== 'paragraph_open') continue
    const marker = TASK_MARKER.exec(content)
    const [first] = children ?? []
    if (!marker || first?.type !== 'text') continue
    first.content = first.content.slice(marker[0].length)
    const box = new Token('html_inline', '', 0)
    const checked = marker[1]?.toLowerCase() === 'x' ? ' checked' : ''
    box.content = `<input type="checkbox"${checked} disabled> `
    children?.unshift(box)
  }
}

function resolved(name: string, url: string | undefined, baseUrl: string | undefined) {
  if (url === undefined) return {}
  // A place in the same document stays one.
  const isAbsolute = baseUrl === undefined || url.startsWith('#') || !URL.canParse(url, baseUrl)
  return { [name]: isAbsolute ? url : new URL(url, baseUrl).href }
}
