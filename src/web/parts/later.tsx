import type { VNode } from 'preact'
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
  const component = useLoad(props.load, [])
  return <Show of={component}>{(Component) => <Component {...props.with} />}</Show>
}
