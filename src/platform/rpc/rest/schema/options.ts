import { type DescExtension, type ExtensionValueShape, getOption } from '@bufbuild/protobuf'

/** The options that were read. `getOption` builds a message type at each call. */
const known = new WeakMap<DescExtension, WeakMap<object, unknown>>()

/** Returns an option of a descriptor, as `getOption` does. All callers share the value. */
export const optionOf: typeof getOption = (element, option) => {
  const values = known.get(option) ?? new WeakMap<object, unknown>()
  known.set(option, values)
  if (!values.has(element)) values.set(element, getOption(element, option))
  return values.get(element) as ExtensionValueShape<typeof option>
}
