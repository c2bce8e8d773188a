import { type ColouredLines, colouredLinesOf, textOfRuns } from './runs.ts'

/** Texts of one language that get colours. */
export interface HighlightRequest {
  readonly texts: readonly string[]
  readonly language: string
}

/** The texts with colours, in the order of the request; undefined if there are none. */
export type HighlightAnswer = readonly ColouredLines[] | undefined

/** The address of this script. A page loads the script for that alone, and a worker runs it. */
export const workerUrl = import.meta.url

if (typeof document === 'undefined') addEventListener('message', answer)

async function answer({ data }: MessageEvent<HighlightRequest>): Promise<void> {
  postMessage(await highlighted(data).catch(() => undefined))
}

async function highlighted({ texts, language }: HighlightRequest): Promise<HighlightAnswer> {
  const { default: highlighter } = await import('highlight.js/lib/common')
  if (!highlighter.getLanguage(language)) return undefined
  return texts.map((text) => {
    const lines = colouredLinesOf(
      highlighter.highlight(text, { language, ignoreIllegals: true }).value,
    )
    // A page never shows another text than that of the file.
    if (lines.map(textOfRuns).join('\n') !== text) throw new Error('the text has changed')
    return lines
  })
}
