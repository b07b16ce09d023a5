/** A page of the book: what the words mean, at the length that they need. */
import { getRouteApi, Link, useRouterState } from '@tanstack/react-router'
import { Fragment, useEffect, useState } from 'react'
import { Skeleton } from '../ui/problem.tsx'
import { anchorOf, type Block, blocksOf, piecesOf } from './book.ts'
import { PAGES, readPage } from './pages.ts'
import './explain.css'

const route = getRouteApi('/book/$page')

export default function BookScreen() {
  const { page } = route.useParams()
  const hash = useRouterState({ select: state => state.location.hash })
  const [read, setRead] = useState<{ page: string; blocks: readonly Block[] | undefined }>()
  useEffect(() => {
    let wanted = true
    void Promise.resolve(readPage(page)).then(text => {
      if (wanted) setRead({ page, blocks: text === undefined ? undefined : blocksOf(text) })
    })
    return () => {
      wanted = false
    }
  }, [page])
  useEffect(() => {
    if (read && hash !== '') document.getElementById(hash)?.scrollIntoView()
  }, [read, hash])
  return (
    <article className="sheet book">
      <nav aria-label="Pages of the book">
        {PAGES.map(name => (
          <Link key={name} to="/book/$page" params={{ page: name }} activeOptions={{ includeHash: false }}>
            {name.charAt(0).toUpperCase() + name.slice(1)}
          </Link>
        ))}
      </nav>
      {read?.page !== page ? (
        <Skeleton what="the page" rows={6} />
      ) : read.blocks === undefined ? (
        <>
          <h1 className="title">No such page</h1>
          <p>The book has no page of this name.</p>
        </>
      ) : (
        read.blocks.map(block => <Part key={`${block.is} ${block.text}`} block={block} />)
      )}
    </article>
  )
}

function Part({ block }: { block: Block }) {
  if (block.is === 'paragraph')
    return (
      <p>
        {piecesOf(block.text).map(piece =>
          piece.code ? <code key={piece.text}>{piece.text}</code> : <Fragment key={piece.text}>{piece.text}</Fragment>,
        )}
      </p>
    )
  return block.level === 1 ? <h1 className="title">{block.text}</h1> : <h2 id={anchorOf(block.text)}>{block.text}</h2>
}
