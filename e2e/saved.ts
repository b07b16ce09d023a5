/** What a person who saves a table gets. */
import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'

export async function save(page: Page, name: string, kind: 'CSV' | 'JSON'): Promise<string> {
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: `Save ${name} as a file`, exact: true }).click()
  await page.getByRole('menuitem', { name: new RegExp(`^${kind}`) }).click()
  return readFileSync((await (await saved).path())!, 'utf8')
}

export interface SavedTable {
  readonly table: string
  readonly source: string
  readonly address: string
  readonly rowCount: number
  readonly columns: readonly string[]
  readonly rows: readonly Readonly<Record<string, string | number | boolean | null>>[]
}
export const saveJson = async (page: Page, name: string): Promise<SavedTable> =>
  JSON.parse(await save(page, name, 'JSON')) as SavedTable
