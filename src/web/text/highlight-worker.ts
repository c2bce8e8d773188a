/** A text that gets colours. The answer is its HTML; undefined if there are no colours. */
export interface HighlightRequest {
  readonly text: string
  readonly language: string
}

/** The address of this script. A page loads the script for that alone, and a worker runs it. */
export const workerUrl = import.meta.url

if (typeof document === 'undefined') addEventListener('message', answer)

async function answer({ data }: MessageEvent<HighlightRequest>): Promise<void> {
  postMessage(await highlighted(data).catch(() => undefined))
}

async function highlighted({ text, language }: HighlightRequest): Promise<string | undefined> {
  const { default: highlighter } = await import('highlight.js/lib/common')
  if (!highlighter.getLanguage(language)) return undefined
  return highlighter.highlight(text, { language, ignoreIllegals: true }).value
}
