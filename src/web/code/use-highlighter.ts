import { useCallback, useEffect, useRef } from 'preact/hooks'
import type { Highlighter } from './highlight.ts'

/** Loads the highlighter when somebody asks for it. */
export type LoadHighlighter = () => Promise<Highlighter>

/** Returns what loads one highlighter for a component. The highlighter ends with the component. */
export function useHighlighter(): LoadHighlighter {
  const loaded = useRef<Promise<Highlighter> | undefined>(undefined)
  useEffect(
    () => () => {
      loaded.current?.then((highlighter) => highlighter.end()).catch(() => undefined)
    },
    [],
  )
  return useCallback(() => {
    loaded.current ??= import('./highlight.ts').then(({ Highlighter }) => new Highlighter())
    return loaded.current
  }, [])
}
