import type { VNode } from 'preact'
import { loadScript } from '../api/scripts.ts'
import { Show, useLoad } from './load.tsx'

/**
 * A component whose script loads when the component appears.
 *
 * @param props.load imports the component. `props.with` are its properties.
 */
export function Later<Props extends object>(props: {
  load: () => Promise<(props: Props) => VNode>
  with: Props
}): VNode {
  const component = useLoad(() => loadScript(props.load), [])
  return <Show of={component}>{(Component) => <Component {...props.with} />}</Show>
}
