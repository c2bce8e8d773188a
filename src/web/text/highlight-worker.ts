/** A text that gets colours. */
export interface HighlightRequest {
  readonly id: number
  readonly text: string
  readonly language: string
}

/** Its HTML; undefined if the language is not known or the text cannot be read. */
export interface HighlightAnswer {
  readonly id: number
  readonly html: string | undefined
}

/** The address of this script. A page loads the script for that alone, and a worker runs it. */
export const workerUrl = import.meta.url

if (typeof document === 'undefined') addEventListener('message', answer)

async function answer({ data }: MessageEvent<HighlightRequest>): Promise<void> {
  const html = await highlighted(data).catch(() => undefined)
  const message: HighlightAnswer = { id: data.id, html }
  postMessage(message)
}

async function highlighted({ text, language }: HighlightRequest): Promise<string | undefined> {
  const { default: highlighter } = await import('highlight.js/lib/common')
  if (!highlighter.getLanguage(language)) return undefined
  return highlighter.highlight(text, { language, ignoreIllegals: true }).value
}
