/** HTML in which every text is escaped. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A template of HTML. Texts among the values are escaped, so that they cannot contain elements. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, i) => part + toHtml(values[i] ?? '')).join(''))
}

type HtmlValue = string | Html | readonly Html[]

function toHtml(value: HtmlValue): string {
  if (typeof value === 'string') return escapeText(value)
  return value instanceof Html ? value.text : value.map(({ text }) => text).join('')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
