/** The API has at most so many entries on a page. */
export const PAGE = 50

/** Reads all pages of a list. */
export async function allPages<Item>(
  read: (page: number) => Promise<{ items: readonly Item[]; total: bigint }>,
): Promise<Item[]> {
  const all: Item[] = []
  for (let page = 1; ; page++) {
    const { items, total } = await read(page)
    all.push(...items)
    if (items.length === 0 || all.length >= total) return all
  }
}
