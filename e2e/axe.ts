import { createRequire } from 'node:module'
import type { Page } from '@playwright/test'

const here = createRequire(import.meta.url)
const AXE = createRequire(here.resolve('@axe-core/playwright')).resolve('axe-core/axe.min.js')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** Puts axe into every document of the page. Once per document, for its text costs more to read than a run. */
export const withAxe = (page: Page): Promise<unknown> => page.addInitScript({ path: AXE })

/**
 * What axe finds in the page as it stands: `rule: targets`. It runs inside of the page, and only its findings leave it;
 * a builder opens a second page for the report and carries there every node that passed.
 */
export const axeFinds = (page: Page): Promise<string[]> =>
  page.evaluate(async tags => {
    const { axe } = window as unknown as {
      axe: {
        run(
          context: Document,
          options: object,
        ): Promise<{ violations: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }[] }>
      }
    }
    const { violations } = await axe.run(document, {
      runOnly: { type: 'tag', values: tags },
      resultTypes: ['violations'],
      preload: false,
      iframes: false,
    })
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(node => `${node.target.join(' ')} (${node.failureSummary?.split('\n')[1]?.trim()})`).join(', ')}`,
    )
  }, TAGS)
